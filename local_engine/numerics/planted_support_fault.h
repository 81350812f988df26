// Faults that tests plant in what stands around the arithmetic: SHA-256, the cache of digests, the
// grammars that an output is held to, the order of processors. Each shows that a test of that part
// would fail. Only a build with REENACT_SUPPORT_FAULTS has them; everywhere else the conditions
// fold away.

#ifndef REENACT_LOCAL_ENGINE_NUMERICS_PLANTED_SUPPORT_FAULT_H_
#define REENACT_LOCAL_ENGINE_NUMERICS_PLANTED_SUPPORT_FAULT_H_

namespace reenact::local_engine {

enum class SupportFault {
  kNone,
  kHashDropsTheRest,         // Of an update: what lies behind its last whole block.
  kHashCountsBytes,          // The length at the end, in bytes in place of bits.
  kDigestForgetsChange,      // A file is known whatever was written to it since.
  kDigestOfSizeAlone,        // A file is known by its size and times alone.
  kDigestBelievesDamage,     // The hash of an entry is not compared.
  kDigestOfMovingFile,       // A digest is kept of a file that changed just now.
  kGrammarTakesFirstChoice,  // One of several readings of a text is kept.
  kGrammarEndsAnywhere,      // The end is possible in the middle of a text.
  kGrammarSharesTooMuch,     // Of a token, the beginning of the one before is taken for its own.
  kGrammarMarksAnywhere,     // A marker may stand where its name may not.
  kJsonLeadingZeros,
  kJsonLoneSurrogates,
  kJsonControlCharacters,
  kCoreTwiceBeforeOthers,  // Processors in their own order.
  kUnknownCoresAreOne,
  kCount
};

#if defined(REENACT_SUPPORT_FAULTS)
// Defined by the test; one for the life of a process.
extern const SupportFault support_fault;

inline bool Planted(SupportFault fault) {
  return fault == support_fault;
}
#else
constexpr bool Planted(SupportFault) {
  return false;
}
#endif

}  // namespace reenact::local_engine

#endif  // REENACT_LOCAL_ENGINE_NUMERICS_PLANTED_SUPPORT_FAULT_H_
