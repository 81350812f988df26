// What the command must not be: a program that the loader refuses where CUDA is not installed.
int cudaGetDeviceCount(int* count);

int main(void) {
  int count = 0;
  return cudaGetDeviceCount(&count);
}
