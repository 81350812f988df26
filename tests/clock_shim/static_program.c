// Reads the clock where no preloaded library can see it.

#include <stdio.h>
#include <time.h>

int main(void) {
  printf("%ld\n", (long)time(NULL));
  return 0;
}
