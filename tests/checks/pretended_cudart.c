// Has the name of NVIDIA's runtime, for a program that needs it to start.
int cudaGetDeviceCount(int* count) {
  *count = 0;
  return 0;
}
