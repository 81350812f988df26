// The tables of reference/rope.cc without its rotation, which golden_kernels_test.cc replaces.

#define Rotate RotateOfTheReference
#include "local_engine/reference/rope.cc"
