// How many threads are worth their while.

#ifndef REENACT_LOCAL_ENGINE_ENGINE_PHYSICAL_CORES_H_
#define REENACT_LOCAL_ENGINE_ENGINE_PHYSICAL_CORES_H_

namespace reenact::local_engine {

// Cores with a processor that this process may run on; two hardware threads of one core share its
// vector units and count once. The number of processors where the system does not tell; at least 1.
int PhysicalCoreCount();

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_ENGINE_PHYSICAL_CORES_H_
