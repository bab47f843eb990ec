// VAR_HANDLE, READ_VARIABLE, ASSIGN_VARIABLE: numbers that are kept from one run to the next under
// a name. The partition brings what a variable holds, and takes what it is to hold; the interpreter
// keeps it.
#include "delegate_native/ops/op.h"
#include "delegate_native/tflite/importer.h"

namespace quadra {
namespace {

Status ImportHandle(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(0, 0));
  if (importer->known()->variables.count(importer->OutputIndex(0))) return Status();
  return Unsupported("its result is no handle of a variable by name");
}

Status ImportRead(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(1, 1));
  return importer->ReadResource();
}

Status ImportAssign(Importer* importer) {
  QUADRA_RETURN_IF_ERROR(importer->ExpectInputs(2, 2, 0));
  return importer->AssignResource();
}

}  // namespace

extern const Op kVarHandleOp;
const Op kVarHandleOp = {
    .name = "var_handle",
    .builtins = {kTfLiteBuiltinVarHandle, -1},
    .import = ImportHandle,
};

extern const Op kReadVariableOp;
const Op kReadVariableOp = {
    .name = "read_variable",
    .builtins = {kTfLiteBuiltinReadVariable, -1},
    .import = ImportRead,
};

extern const Op kAssignVariableOp;
const Op kAssignVariableOp = {
    .name = "assign_variable",
    .builtins = {kTfLiteBuiltinAssignVariable, -1},
    .import = ImportAssign,
};

}  // namespace quadra
