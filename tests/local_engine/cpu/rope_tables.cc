// The tables of reference/rope.cc without its rotation, which golden_kernels.cc replaces.

#define Rotate RotateOfTheReference
#include "local_engine/reference/rope.cc"
#undef Rotate
