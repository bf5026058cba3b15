"""test_inputs.py - what can be clustered: types, layouts, tensors, Arrow, data frames; and what
cannot, with a clear exception."""
import pickle
import unittest
import warnings

from python_case import Case, has, main, np, rows

import coke
from coke._rows import to_matrix


def labels(x):
    return coke.cluster(x, 5).labels


class Arrays(Case):
    def same(self, x, like=None):
        """x gives the labels of the plain float32 array of its values."""
        plain = np.array(like if like is not None else x, dtype=np.float32, order="C")
        np.testing.assert_array_equal(labels(x), labels(plain))

    def test_types(self):
        x = rows()
        for dtype in "f2 f4 f8 >f4 >f8 i1 u1 i2 u2 i4 i8 g".split():
            y = np.abs(x * 10).astype(dtype) if dtype[0] in "ui" else x.astype(dtype)
            self.same(y)
        self.same(x > 0, like=(x > 0))

    def test_layouts(self):
        x = rows(dim=300)
        self.same(np.asfortranarray(x))
        self.same(x[::-1, ::-1], like=x[::-1, ::-1].copy())
        self.same(x[::2, 1::3], like=x[::2, 1::3].copy())
        self.same(np.broadcast_to(x[:, :1], x.shape) + 0 * x, like=np.repeat(x[:, :1], 300, 1))
        y = x.copy()
        y.flags.writeable = False
        self.same(y)
        np.save("x.npy", x)
        self.same(np.load("x.npy", mmap_mode="r"), like=x)
        self.same(x.tolist(), like=x)
        self.same(np.ma.masked_array(x), like=x)

    def test_no_copy_where_the_layout_allows(self):
        for x in (rows(), rows(dtype=np.float64), rows().astype("f2"), rows().T.copy().T,
                  rows()[:, ::-1]):
            self.assertTrue(np.shares_memory(to_matrix(x), x))

    def test_objects(self):
        x = rows(50)
        self.same(x.astype(object), like=x)
        column = np.empty(50, dtype=object)
        column[:] = [list(map(float, row)) for row in x]
        self.same(column, like=x)

    def test_what_is_refused(self):
        x = rows()
        ragged = np.empty(2, dtype=object)
        ragged[:] = [[1, 2], [1, 2, 3]]
        sparse = type("csr", (), {"toarray": None, "__module__": "scipy.sparse"})()
        cases = [(ValueError, "1D array", x[0]), (ValueError, "scalar", np.float32(1)),
                 (ValueError, "dim 3", x[None]), (ValueError, r"0 sample\(s\)", x[:0]),
                 (ValueError, r"0 feature\(s\)", x[:, :0]), (ValueError, "Complex", x * 1j),
                 (ValueError, "NaN", np.where(x > 2, np.nan, x)),
                 (ValueError, "inf", np.where(x > 2, np.inf, x)),
                 (ValueError, "different lengths", ragged), (TypeError, "Sparse", sparse),
                 (ValueError, "could not convert", np.full((9, 2), "abc")),
                 (TypeError, "must be", np.full((9, 2), {}, dtype=object)),
                 (TypeError, "generator is not an array", (row for row in x)),
                 (TypeError, "NoneType is not an array", None),
                 (ValueError, "masked", np.ma.masked_array(x, x > 2)),
                 (ValueError, "too large for f32", np.full((9, 2), 1e300))]
        for kind, words, bad in cases:
            with self.assertRaisesRegex(kind, words):
                coke.cluster(bad, 2)


@unittest.skipUnless(has("torch"), "torch is not installed")
class Torch(Case):
    def test_tensors(self):
        import torch
        x = torch.from_numpy(rows())
        expected = labels(rows())
        for y in (x, x.double(), x.clone().requires_grad_(), x.T.contiguous().T):
            np.testing.assert_array_equal(labels(y), expected)
        self.assertTrue(np.shares_memory(to_matrix(x), x.numpy()))
        self.assertEqual(len(labels(x.bfloat16())), 600)


class Dlpack(Case):
    def test_anything_with_dlpack(self):
        if not hasattr(np, "from_dlpack"):
            self.skipTest("this numpy has no from_dlpack")

        class Tensor:
            def __init__(self, x):
                self.x = x

            def __dlpack__(self, **options):
                return self.x.__dlpack__(**options)

            def __dlpack_device__(self):
                return device or self.x.__dlpack_device__()
        device = None
        np.testing.assert_array_equal(labels(Tensor(rows())), labels(rows()))
        device = (2, 0)
        with self.assertRaisesRegex(ValueError, "another device"):
            labels(Tensor(rows()))


@unittest.skipUnless(has("pandas"), "pandas is not installed")
class Pandas(Case):
    def test_frames_and_columns(self):
        import pandas as pd
        x = rows()
        frame = pd.DataFrame(x, columns=list("abcdefgh"))
        np.testing.assert_array_equal(labels(frame), labels(x))
        np.testing.assert_array_equal(labels(pd.Series(list(x))), labels(x))
        with self.assertRaisesRegex(ValueError, "2 columns, of which 'v' has vectors"):
            labels(pd.DataFrame({"id": range(600), "v": [list(r) for r in x]}))
        np.testing.assert_array_equal(labels(pd.DataFrame({"v": [list(r) for r in x]})), labels(x))
        for missing in (None, np.nan):
            with self.assertRaisesRegex(ValueError, "row 1 has no vector"):
                labels(pd.Series([[1., 2.], missing, [3., 4.]]))
            with self.assertRaisesRegex(ValueError, "row 0 has no vector"):
                labels(pd.Series([missing, [1., 2.]]))


@unittest.skipUnless(has("pyarrow"), "pyarrow is not installed")
class Arrow(Case):
    def test_lists_and_tables(self):
        import pyarrow as pa
        x = rows()
        flat = pa.array(x.ravel())
        fixed = pa.FixedSizeListArray.from_arrays(flat, 8)
        ends = pa.array(np.arange(0, x.size + 1, 8, dtype=np.int32))
        for y in (fixed, pa.ListArray.from_arrays(ends, flat), pa.chunked_array([fixed]),
                  pa.chunked_array([fixed[:100], fixed[100:]]), pa.table({"v": fixed}),
                  pa.table({str(i): x[:, i] for i in range(8)})):
            np.testing.assert_array_equal(to_matrix(y), x)
        np.testing.assert_array_equal(to_matrix(fixed[7:90]), x[7:90])
        np.testing.assert_array_equal(to_matrix(pa.table({"v": fixed})[3:50]), x[3:50])
        np.testing.assert_array_equal(to_matrix(pa.array([[1, 2], [3, 4]])), [[1, 2], [3, 4]])
        np.testing.assert_array_equal(labels(fixed), labels(x))

    def test_list_views(self):
        import pyarrow as pa
        x = rows(50)
        if not hasattr(pa, "LargeListViewArray"):
            self.skipTest("this pyarrow has no list views")
        flat = pa.array(x.ravel())
        for kind, size in ((pa.ListViewArray, np.int32), (pa.LargeListViewArray, np.int64)):
            begins = np.arange(0, x.size, 8, dtype=size)
            lengths = np.full(50, 8, size)
            plain = kind.from_arrays(begins, lengths, flat)
            np.testing.assert_array_equal(to_matrix(plain), x)
            np.testing.assert_array_equal(to_matrix(plain[7:20]), x[7:20])
            np.testing.assert_array_equal(to_matrix(pa.table({"v": plain})), x)
            order = np.r_[np.random.RandomState(0).permutation(40), [3, 3]]
            shuffled = kind.from_arrays(begins[order], lengths[:42], flat)
            np.testing.assert_array_equal(to_matrix(shuffled), x[order])
            lengths[5] = 7
            with self.assertRaisesRegex(ValueError, "different lengths"):
                to_matrix(kind.from_arrays(begins, lengths, flat))

    def test_what_is_refused(self):
        import pyarrow as pa
        for y, words in (([[1., 2.], [3.]], "different lengths"), ([[1., 2.], None], "null"),
                         ([[1., 2.], [3., None]], "null")):
            with self.assertRaisesRegex(ValueError, words):
                coke.cluster(pa.array(y), 1)
        with self.assertRaisesRegex(TypeError, "'u' is neither an integer nor a float"):
            coke.cluster(pa.array([["a"], ["b"]]), 1)
        numbers, vectors = pa.array([1, 2]), pa.array([[1., 2.], [3., 4.]])
        with self.assertRaisesRegex(ValueError, "2 columns, of which 'v' has vectors"):
            coke.cluster(pa.table({"id": numbers, "v": vectors}), 1)
        codes = pa.array([5., 7.]).dictionary_encode()
        for text in (["a", "b"], codes):
            with self.assertRaisesRegex(TypeError, "column 't' of the table is not a number"):
                coke.cluster(pa.table({"id": numbers, "t": text}), 1)
        with self.assertRaisesRegex(TypeError, "dictionary"):
            coke.cluster(codes, 1)


@unittest.skipUnless(has("polars"), "polars is not installed")
class Polars(Case):
    def test_columns(self):
        import polars as pl
        x = rows()
        array = pl.Series("v", x)
        np.testing.assert_array_equal(to_matrix(array), x)
        np.testing.assert_array_equal(to_matrix(array.to_frame()), x)
        np.testing.assert_array_equal(to_matrix(array.to_frame().lazy()), x)
        np.testing.assert_array_equal(to_matrix(pl.Series("v", x.tolist())), x)
        np.testing.assert_array_equal(to_matrix(array[5:40]), x[5:40])
        np.testing.assert_array_equal(labels(array), labels(x))
        with warnings.catch_warnings():
            warnings.simplefilter("error", pl.exceptions.PerformanceWarning)
            coke.KMeans(5).fit(array.to_frame().lazy())


@unittest.skipUnless(has("duckdb"), "duckdb is not installed")
class Duckdb(Case):
    def test_columns(self):
        import duckdb
        x = rows()
        table = ", ".join("[%s]::float[8]" % ", ".join(map(repr, row)) for row in x.tolist())
        found = duckdb.sql("select unnest([%s]) v" % table)
        np.testing.assert_array_equal(to_matrix(found), x)
        np.testing.assert_array_equal(to_matrix(found.select("v::float[]")), x)
        with self.assertRaisesRegex(TypeError, "decimal.*cast them to float"):
            to_matrix(duckdb.sql("select [1.5, 2.5] v"))


@unittest.skipUnless(has("datasets"), "datasets is not installed")
class Datasets(Case):
    def test_a_data_set_of_vectors(self):
        import datasets
        x = rows(100)
        np.testing.assert_array_equal(
            to_matrix(datasets.Dataset.from_dict({"v": x.tolist()})), x)


class Pictures(Case):
    def test_results_show_themselves(self):
        m = coke.KMeans(5).fit(rows())
        c = coke.cluster(rows(), 5)
        for html in (m._repr_html_(), c._repr_html_(), c.model._repr_html_()):
            self.assertIn("<svg", html)
            self.assertIn("sizes", html)
            self.assertIn("at least 48 (dashed)", html)
        self.assertIn("text/plain", m._repr_mimebundle_())
        constrained = coke.KMeansConstrained(5)
        for unfitted in (coke.KMeans(), constrained):
            self.assertIn("text/plain", unfitted._repr_mimebundle_())
        self.assertIn("<svg", constrained.fit(rows())._repr_html_())

    def test_typical_rows_are_shown_while_the_rows_are_there(self):
        x = rows()
        c, m = coke.cluster(x, 5), coke.KMeans(5).fit(x)
        first = [", ".join(map(str, row)) for row in c.exemplars(5)]
        for page in (c._repr_html_(), m._repr_html_()):
            for text in first:
                self.assertIn(text, page)
        self.assertNotIn("typical", pickle.loads(pickle.dumps(c))._repr_html_())
        self.assertNotIn("typical", pickle.loads(pickle.dumps(m))._repr_html_())
        del x
        self.assertNotIn("typical", c._repr_html_())
        np.save("x.npy", rows())
        self.assertIn(first[0], coke.cluster("x.npy", 5)._repr_html_())
        with coke.open_rows("x.npy") as r:
            c = coke.cluster(r, 5)
        self.assertNotIn("typical", c._repr_html_())

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_typical_rows_have_the_names_of_an_index(self):
        import pandas as pd
        frame = pd.DataFrame(rows(), index=["<row %d>" % i for i in range(600)])
        c = coke.cluster(frame, 5)
        self.assertIn("&lt;row %d&gt;" % c.exemplars(1)[0, 0], c._repr_html_())


if __name__ == "__main__":
    main()
