// Composites that are computed by what their names mean: converters' decompositions of them are not
// always that.
#ifndef QUADRA_OPS_COMPOSITES_H_
#define QUADRA_OPS_COMPOSITES_H_

#include "delegate_native/graph/graph.h"
#include "delegate_native/ops/flex_map.h"

namespace quadra {

class Importer;

// If they do not know an attribute, a type or a size they fail, and have added no more than what
// reads the inputs. A composite of several outputs makes as many results.
Status ImportAttention(const FlexMap& attributes, Importer* importer, ValueId* result);
Status ImportCachedAttention(const FlexMap& attributes, Importer* importer, ValueId* result);
Status ImportCacheUpdate(const FlexMap& attributes, Importer* importer, ValueId* results);
Status ImportGroupNorm(const FlexMap& attributes, Importer* importer, ValueId* result);
Status ImportMatrixProduct(const FlexMap& attributes, Importer* importer, ValueId* result);
Status ImportRmsNorm(const FlexMap& attributes, Importer* importer, ValueId* result);
Status ImportSoftmax(const FlexMap& attributes, Importer* importer, ValueId* result);

}  // namespace quadra

#endif  // QUADRA_OPS_COMPOSITES_H_
