// What a model's answer makes its program do, as one text.

#ifndef REENACT_REPLAYER_RERUN_ACTION_H_
#define REENACT_REPLAYER_RERUN_ACTION_H_

#include <string>

#include "schema/model_view.h"

namespace reenact::rerun {

// Arguments of a tool in their canonical form; as written where they are no JSON.
std::string CanonicalArguments(const std::string& arguments);

// "calls refund {\"amount\":12}": names and canonical arguments, in order; "answers TEXT" where no
// tool is asked for. Equal texts are equal outcomes. Empty: there is no whole answer.
std::string ActionOf(const schema::ModelView& answer);

}  // namespace reenact::rerun

#endif  // REENACT_REPLAYER_RERUN_ACTION_H_
