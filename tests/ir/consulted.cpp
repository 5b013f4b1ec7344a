#include "tests/ir/consulted.h"

#include <string>

#include "ir/error.h"
#include "ir/text.h"

namespace axrun::ir::test {

void require_told(const Node& node, const std::vector<OperandInfo>& operands) {
  Consulted consulted;
  const Program program = define_node(node, operands, &consulted);
  Node other = node;
  if (!consulted.name) other.name += "_under_another_name";
  std::vector<OperandInfo> needed = operands;
  for (size_t k = 0; k < needed.size(); ++k) {
    if (consulted.asked(k)) continue;
    needed[k].constant = nullptr;
    needed[k].elements = nullptr;
  }
  std::string found;
  try {
    found = print(define_node(other, needed));
    if (found == print(program)) return;
  } catch (const NotYetKnown& wanted) {
    found = "it wants the " + wanted.what;
  }
  throw Error(Fault::internal,
              node.op + " looks at what it does not tell:\n" + print(program) + "or\n" + found);
}

}  // namespace axrun::ir::test
