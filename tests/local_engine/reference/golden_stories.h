// What profile n1 makes of the trained model stories260k, greedily, from the token that begins a
// text. Frozen: another hash is another profile.

#ifndef REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_STORIES_H_
#define REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_STORIES_H_

namespace reenact::local_engine {

inline constexpr const char* kGoldenStoriesLogits =
    "3eb6e61e5a023fd7f104a15b9ded38c81ea7a0f5c89f47b05af5fdc2d9dab163";
inline constexpr const char* kGoldenStoriesCache =
    "b3d6e5cd366f451c560820eba7c792f158c425bb5c09fed68c9ce84dbcd5a921";
// Of its file in Q8_0.
inline constexpr const char* kGoldenQuantisedStoriesLogits =
    "f96fcf28198c95e4210a44387434245cf1d639b341c07727b9b7a1b1b8867f71";

}  // namespace reenact::local_engine

#endif  // REENACT_TESTS_LOCAL_ENGINE_REFERENCE_GOLDEN_STORIES_H_
