// The text of every kernel, as C++ for the emulator.

#include "local_engine/cuda/rms_norm.cu"
