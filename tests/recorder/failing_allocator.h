// malloc of the test binary, which the whole process uses, with a switch: the n-th allocation of
// this thread fails, and all after it.

#ifndef REENACT_TESTS_RECORDER_FAILING_ALLOCATOR_H_
#define REENACT_TESTS_RECORDER_FAILING_ALLOCATOR_H_

namespace reenact::testing {

// Fails allocations of this thread from number `count` on (1 is the next). 0: none.
void FailAllocationsFrom(long count) noexcept;
// Allocations of this thread since FailAllocationsFrom.
long AllocationsSeen() noexcept;

}  // namespace reenact::testing

#endif  // REENACT_TESTS_RECORDER_FAILING_ALLOCATOR_H_
