#include "tests/search/gather_cases.h"

#include "ir/builder.h"
#include "ir/ops/indexing_parts.h"

namespace axrun::tests {

using ir::Builder;
using ir::Dim;
using ir::Dims;
using ir::ElementType;
using ir::Indices;
using ir::Program;
using ir::Scalar;

namespace {

/// Rows of table[rows, width], named by tokens[n, m].
Program rows_of_table(const Dim& rows, const Dim& width, const Dim& n, const Dim& m,
                      ElementType type = ElementType::i64) {
  Builder b("embedding");
  const auto table = b.operand(0, ElementType::f32, {rows, width}, "table");
  const auto tokens = b.operand(1, type, {n, m}, "tokens");
  b.output(b.map({n, m, width}, [&](const Indices& i) {
    return table({from_end(tokens({i[0], i[1]}), rows), i[2]});
  }));
  return b.finish();
}

/// The sum of a word's, a place's and a segment's row.
Program three_tables(const Dim& n, const Dim& width) {
  Builder b("embeddings");
  const auto words = b.operand(0, ElementType::f32, {Dim(50), width}, "words");
  const auto places = b.operand(1, ElementType::f32, {n, width}, "places");
  const auto segments = b.operand(2, ElementType::f32, {Dim(2), width}, "segments");
  const auto word = b.operand(3, ElementType::i32, {n}, "word");
  const auto segment = b.operand(4, ElementType::i64, {n}, "segment");
  b.output(b.map({n, width}, [&](const Indices& i) {
    return words({from_end(word({i[0]}), Dim(50)), i[1]}) + places({i[0], i[1]}) +
           segments({from_end(segment({i[0]}), Dim(2)), i[1]});
  }));
  return b.finish();
}

/// x[batch, index, inner] along the middle.
Program along_the_middle(const Dim& batch, const Dim& n, const Dim& count, const Dim& inner) {
  Builder b("middle");
  const auto x = b.operand(0, ElementType::f32, {batch, n, inner}, "x");
  const auto at = b.operand(1, ElementType::i64, {count}, "at");
  b.output(b.map({batch, count, inner}, [&](const Indices& i) {
    return x({i[0], from_end(at({i[1]}), n), i[2]});
  }));
  return b.finish();
}

/// x at pairs of indices, and a scalar one.
Program pairs(const Dim& count, const Dim& inner) {
  Builder b("pairs");
  const auto x = b.operand(0, ElementType::f32, {Dim(7), Dim(5), inner}, "x");
  const auto at = b.operand(1, ElementType::i64, {count, Dim(2)}, "at");
  const auto one = b.operand(2, ElementType::i32, {}, "one");
  b.output(b.map({count, inner}, [&](const Indices& i) {
    const auto index = [&](int64_t k, int64_t size) { return from_end(at({i[0], b.integer(k)}), Dim(size)); };
    return x({index(0, 7), index(1, 5), i[1]}) * x({from_end(one({}), Dim(7)), index(1, 5), i[1]});
  }));
  return b.finish();
}

/// y[i, j] = x[i, columns[j]].
Program columns_of_matrix(const Dim& rows, const Dim& width, const Dim& count, ElementType type,
                          ElementType elements = ElementType::f32) {
  Builder b("columns");
  const auto x = b.operand(0, elements, {rows, width}, "x");
  const auto columns = b.operand(1, type, {count}, "columns");
  b.output(b.map({rows, count}, [&](const Indices& i) {
    return x({i[0], from_end(columns({i[1]}), width)});
  }));
  return b.finish();
}

/// y[i, j] = x[at[i, j], j] + x[i, across[i, j]].
Program of_elements(const Dim& rows, const Dim& width, ElementType type) {
  Builder b("elements");
  const auto x = b.operand(0, ElementType::f32, {rows, width}, "x");
  const auto at = b.operand(1, type, {rows, width}, "at");
  const auto across = b.operand(2, ElementType::i64, {rows, width}, "across");
  b.output(b.map({rows, width}, [&](const Indices& i) {
    return x({from_end(at({i[0], i[1]}), rows), i[1]}) + x({i[0], from_end(across({i[0], i[1]}), width)});
  }));
  return b.finish();
}

/// Means of rows of a table: rows of other rows.
Program means_of_rows(const Dim& n, const Dim& width) {
  Builder b("means");
  const auto table = b.operand(0, ElementType::f32, {Dim(30), width}, "table");
  const auto tokens = b.operand(1, ElementType::i64, {n}, "tokens");
  const auto row = b.map({n, width}, [&](const Indices& i) {
    return table({from_end(tokens({i[0]}), Dim(30)), i[1]});
  });
  const auto total = b.sum({n}, {width}, [&](const Indices& i, const Indices& r) {
    return row({i[0], r[0]});
  });
  b.output(b.map({n, width}, [&](const Indices& i) {
    return row({i[0], i[1]}) - total({i[0]}) * (1.0 / 64);
  }));
  return b.finish();
}

}  // namespace

std::vector<Case> gather_cases() {
  const ir::loop::Size n{"n", 1, 4096, 1};
  return {
      {"RowsOfATable",
       "map",
       [] { return rows_of_table(Dim(100), Dim(64), Dim(1), Dim(9)); },
       {},
       {true, false}},
      {"RowsOfATableWithATail",
       "map",
       [] { return rows_of_table(Dim(31), Dim(77), Dim(2), sym("n"), ElementType::i32); },
       {n},
       {true, false},
       {{{"n", 1}}, {{"n", 6}}}},
      {"RowsOfAnOpenTable",
       "map",
       [] { return rows_of_table(sym("n"), Dim(200), Dim(1), Dim(5)); },
       {{"n", 2, 4096, 1}},
       {false, false},
       {{{"n", 2}}, {{"n", 40}}}},
      {"SumOfThreeTables",
       "map",
       [] { return three_tables(sym("n"), Dim(40)); },
       {n},
       {true, true, true, false, false},
       {{{"n", 1}}, {{"n", 17}}}},
      {"RowsAlongTheMiddle",
       "map",
       [] { return along_the_middle(Dim(3), Dim(6), sym("n"), Dim(20)); },
       {n},
       {false, false},
       {{{"n", 1}}, {{"n", 11}}}},
      {"RowsAtPairs",
       "map",
       [] { return pairs(sym("n"), Dim(19)); },
       {n},
       {false, false, false},
       {{{"n", 1}}, {{"n", 8}}}},
      {"ColumnsOfAMatrix",
       "map",
       [] { return columns_of_matrix(Dim(5), Dim(40), Dim(50), ElementType::i64); },
       {},
       {false, false}},
      {"ColumnsOfAMatrixOfAnyWidth",
       "map",
       [] { return columns_of_matrix(Dim(3), sym("n"), sym("m"), ElementType::i32); },
       {{"n", 2, 4096, 1}, {"m", 1, 4096, 1}},
       {false, false},
       {{{"n", 2}, {"m", 1}}, {{"n", 9}, {"m", 70}}, {{"n", 40}, {"m", 16}}}},
      {"ColumnsOfWideIntegers",
       "map",
       [] { return columns_of_matrix(Dim(3), Dim(30), sym("n"), ElementType::i64, ElementType::i64); },
       {n},
       {false, false},
       {{{"n", 1}}, {{"n", 29}}}},
      {"ColumnsOfWideFloats",
       "map",
       [] { return columns_of_matrix(Dim(3), Dim(30), Dim(43), ElementType::i32, ElementType::f64); },
       {},
       {false, false}},
      {"GatheredElements",
       "map",
       [] { return of_elements(Dim(7), sym("n"), ElementType::i64); },
       {{"n", 2, 4096, 1}},
       {false, false, false},
       {{{"n", 2}}, {{"n", 35}}}},
      {"GatheredElementsOf32Bits",
       "map",
       [] { return of_elements(Dim(20), Dim(30), ElementType::i32); },
       {},
       {false, false, false}},
      {"MeansOfRowsOfATable",
       "rows",
       [] { return means_of_rows(sym("n"), Dim(64)); },
       {n},
       {true, false},
       {{{"n", 1}}, {{"n", 13}}}},
  };
}

}  // namespace axrun::tests
