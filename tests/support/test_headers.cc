// Nothing: the precompiled headers of all tests belong to this file's target.
