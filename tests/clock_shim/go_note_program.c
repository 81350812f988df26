// A program that is linked with libc and has the note of Go's linker, as programs in Go have that
// use cgo: a preloaded library is loaded into them, and does not see their clock.

__asm__(
    ".pushsection .note.go.buildid, \"a\", %note\n"
    ".balign 4\n"
    ".long 4, 8, 4\n"  // Sizes of owner and text; kind.
    ".asciz \"Go\\0\"\n"
    ".ascii \"build id\"\n"
    ".popsection\n");

int main(void) {
  return 0;
}
