"""test_estimator.py - coke.KMeans: attributes, methods, partial_fit, and scikit-learn's tools."""
import pickle
import unittest

from python_case import Case, has, main, np, rows

import coke

SKLEARN = has("sklearn")


class Fit(Case):
    def test_attributes(self):
        x = rows()
        m = coke.KMeans(6, ratio=.8, random_state=3).fit(x)
        self.assertEqual(m.cluster_centers_.shape, (6, 8))
        self.assertGreaterEqual(m.sizes_.min(), int(.8 * 600 / 6))
        np.testing.assert_array_equal(m.sizes_, np.bincount(m.labels_))
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        self.assertAlmostEqual(m.inertia_, ((unit - m.cluster_centers_[m.labels_]) ** 2).sum(),
                               delta=1e-2)
        self.assertEqual((m.n_features_in_, m.duals_.shape), (8, (6,)))
        self.assertGreater(m.n_iter_, 0)
        self.assertAlmostEqual(m.objective_, m.certificate_.primal / len(x), delta=1e-9)
        np.testing.assert_array_equal(
            m.labels_, coke.cluster(x, 6, ratio=.8, seed=3).labels)

    def test_inertia_of_weighted_rows(self):
        x, w = rows() + 3, np.random.RandomState(0).rand(600)
        for metric in ("cosine", "euclidean"):
            m = coke.KMeans(6, metric=metric).fit(x, sample_weight=w)
            y = x / np.linalg.norm(x, axis=1, keepdims=True) if metric == "cosine" else x
            expected = (w * ((y - m.cluster_centers_[m.labels_]) ** 2).sum(axis=1)).sum()
            self.assertAlmostEqual(m.inertia_ / expected, 1, delta=1e-4)
            self.assertAlmostEqual(m.score(x, sample_weight=w) / -expected, 1, delta=.2)

    def test_euclidean_distances(self):
        x = rows() + 5
        m = coke.KMeans(6, metric="euclidean", ratio=0, random_state=1).fit(x)
        d = ((x[:, None] - m.cluster_centers_) ** 2).sum(axis=2)
        np.testing.assert_array_equal(m.predict(x), d.argmin(axis=1))
        np.testing.assert_allclose(m.transform(x), np.sqrt(d), rtol=1e-3, atol=1e-3)
        online = coke.KMeans(6, metric="euclidean", ratio=.5)
        for batch in np.array_split(x, 4):
            online.partial_fit(batch)
        self.assertGreater(online.score(x), 1.3 * m.score(x))

    def test_predict_is_the_nearest_center_or_keeps_the_sizes(self):
        x, new = rows(), rows(300, seed=4)
        m = coke.KMeans(6, ratio=1).fit(x)
        np.testing.assert_array_equal(m.predict(new), m.transform(new).argmin(axis=1))
        np.testing.assert_array_equal(m.predict(x, constrained=True), m.labels_)
        self.assertEqual(set(np.bincount(m.predict(new, constrained=True))), {50})

    def test_bounds(self):
        m = coke.KMeans(6, size_min=80, size_max=120).fit(rows())
        self.assertTrue(m.sizes_.min() >= 80 and m.sizes_.max() <= 120)
        with self.assertRaisesRegex(ValueError, "not both"):
            coke.KMeans(6, size_min=80, min_sizes=[80] * 6).fit(rows())

    def test_score_is_minus_the_inertia(self):
        m = coke.KMeans(6, ratio=0).fit(rows())
        self.assertAlmostEqual(m.score(rows()), -m.inertia_, delta=1e-3)

    def test_random_states(self):
        labels = [coke.KMeans(6, random_state=s).fit(rows()).labels_ for s in
                  (None, None, 5, np.random.RandomState(1), np.random.default_rng(1))]
        np.testing.assert_array_equal(labels[0], labels[1])
        self.assertFalse(np.array_equal(labels[0], labels[2]))
        with self.assertRaisesRegex(ValueError, "random_state"):
            coke.KMeans(6, random_state="x").fit(rows())

    def test_files_are_fitted(self):
        np.save("x.npy", rows())
        np.testing.assert_array_equal(coke.KMeans(6).fit("x.npy").labels_,
                                      coke.KMeans(6).fit(rows()).labels_)

    def test_warm_starts(self):
        x = rows()
        first = coke.KMeans(6, ratio=.5).fit(x)
        for init in (first.cluster_centers_, first.model_):
            again = coke.KMeans(6, ratio=.5, init=init).fit(rows(700))
            nearest = np.abs(again.cluster_centers_ @ first.cluster_centers_.T).argmax(axis=1)
            np.testing.assert_array_equal(nearest, range(6))
        with self.assertRaisesRegex(ValueError, r"not \(6, 8\)"):
            coke.KMeans(6, init=x[:5]).fit(x)

    def test_misuse(self):
        with self.assertRaisesRegex(TypeError, "no parameter 'ratoi'"):
            coke.KMeans(6, ratoi=.5)
        with self.assertRaisesRegex(ValueError, "not fitted"):
            coke.KMeans(6).predict(rows())
        with self.assertRaisesRegex(ValueError, "expecting 8 features"):
            coke.KMeans(6).fit(rows()).predict(rows(dim=9))
        with self.assertRaisesRegex(ValueError, "n_samples=5"):
            coke.KMeans(6).fit(rows()[:5])
        for k in (2.5, "a", None):
            with self.assertRaisesRegex(ValueError, "n_clusters: .* is not an integer"):
                coke.KMeans(k).fit(rows())
        with self.assertRaisesRegex(ValueError, "n_jobs"):
            coke.KMeans(6, n_jobs=0).fit(rows())

    def test_arguments_of_a_wrong_type_are_named(self):
        x = rows()
        for name, value in (("size_min", "a"), ("min_sizes", [1, 2, 3, None, 4, 5])):
            with self.assertRaisesRegex(ValueError, "min_sizes: sizes are integers"):
                coke.KMeans(6, **{name: value}).fit(x)
        for weight in ("a", np.ones(600) * 1j, [None] * 600):
            with self.assertRaisesRegex(ValueError, "sample_weight: .* numbers"):
                coke.KMeans(6).fit(x, sample_weight=weight)
        for jobs in ("a", 2.5):
            with self.assertRaisesRegex(ValueError, "n_jobs: .* is not an integer"):
                coke.KMeans(6, n_jobs=jobs).fit(x)
        for init in (coke.KMeans(6), len, object()):
            with self.assertRaisesRegex(ValueError, "init: .* is not a word"):
                coke.KMeans(6, init=init).fit(x)
        with self.assertRaisesRegex(ValueError, "bad: 'x' is none of error, skip"):
            coke.KMeans(6).fit(x).model_.assign(x, bad="x")

    def test_skipped_rows_are_skipped_everywhere(self):
        x = rows()
        x[7, 3] = np.nan
        good = np.arange(600) != 7
        m = coke.KMeans(6, bad="skip").fit(x)
        self.assertTrue(np.isnan(m.transform(x)[7]).all())
        np.testing.assert_array_equal(m.transform(x)[good], m.transform(x[good]))
        np.testing.assert_array_equal(m.fit_transform(x), m.transform(x))
        self.assertAlmostEqual(m.score(x), m.score(x[good]), delta=1e-9)
        self.assertNotIn(7, m.exemplars(x, 600))
        online = coke.KMeans(6, bad="skip").partial_fit(x)
        self.assertEqual((online.labels_ == -1).nonzero()[0].tolist(), [7])
        self.assertEqual(online.sizes_.sum(), 599)
        for method in ("transform", "score", "predict"):
            with self.assertRaisesRegex(ValueError, "NaN"):
                getattr(coke.KMeans(6).fit(x[good]), method)(x)

    def test_extreme_shapes(self):
        for x, k in ((rows(1), 1), (rows(9), 9), (rows(50, dim=1), 2), (rows(40, dim=900), 3)):
            self.assertEqual(len(coke.KMeans(k).fit(x).labels_), len(x))


class Online(Case):
    def test_batches_reach_the_quality_of_a_fit(self):
        x = rows(6000)
        m = coke.KMeans(6, ratio=.5, random_state=0)
        for at in range(0, len(x), 500):
            m.partial_fit(x[at:at + 500])
        self.assertEqual(m.sizes_.sum(), len(x))
        whole = coke.KMeans(6, ratio=.5, random_state=0).fit(x)
        self.assertGreater(m.score(x), 1.15 * whole.score(x))

    def test_a_pickled_state_continues(self):
        x = rows(2000)
        one = coke.KMeans(6).partial_fit(x[:1000])
        two = pickle.loads(pickle.dumps(one))
        one.partial_fit(x[1000:])
        two.partial_fit(x[1000:])
        np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
        with self.assertRaisesRegex(ValueError, "expecting 8 features"):
            one.partial_fit(rows(dim=9))

    def test_a_stream_continues_a_fit(self):
        x, new = rows(), rows(10, seed=3)
        for metric in ("cosine", "euclidean"):
            m = coke.KMeans(6, metric=metric).fit(x)
            before = m.cluster_centers_
            m = pickle.loads(pickle.dumps(m)).partial_fit(new[:2])
            self.assertEqual((m.labels_.shape, m.sizes_.sum(), m.n_iter_), ((2,), 602, 1))
            self.assertLess(np.abs(m.cluster_centers_ - before).max(), .1 * np.abs(before).max())
            self.assertGreater(m.score(x), 1.1 * coke.KMeans(6, metric=metric).fit(x).score(x))

    def test_bounds_in_rows_have_no_meaning_in_a_stream(self):
        for name, value in (("size_min", 9), ("size_max", 200), ("min_sizes", [9] * 6),
                            ("max_sizes", [200] * 6)):
            with self.assertRaisesRegex(ValueError, name + ".*ratio"):
                coke.KMeans(6, **{name: value}).partial_fit(rows())

    def test_a_fit_begins_anew(self):
        m = coke.KMeans(6).partial_fit(rows())
        np.testing.assert_array_equal(m.fit(rows()).labels_, coke.KMeans(6).fit(rows()).labels_)


@unittest.skipUnless(SKLEARN, "scikit-learn is not installed")
class Sklearn(Case):
    def test_clone_and_parameters(self):
        from sklearn.base import clone
        m = clone(coke.KMeans(7, ratio=.3, epochs=2))
        self.assertEqual((m.n_clusters, m.ratio, m.epochs), (7, .3, 2))
        self.assertIn("ratio=0.3", repr(m))
        m.set_params(ratio=.6).fit(rows())
        self.assertGreaterEqual(m.sizes_.min(), int(.6 * 600 / 7))

    def test_check_estimator(self):
        """All of scikit-learn's checks but one: a row of weight 2 counts once in the sizes and in
        the random order, so that weights are not repetitions (scikit-learn's own k-means has the
        same exception). By cosine a second: its data have a row of zeros."""
        import inspect

        from sklearn.utils.estimator_checks import check_estimator
        expected = {"check_sample_weights_invariance": "weights are not repetitions",
                    "check_sample_weight_equivalence_on_dense_data": "the same",
                    "check_sample_weight_equivalence_on_sparse_data": "the same"}
        zeros = dict(expected, check_estimators_dtypes="a row of zeros has no direction")
        for estimator, expected in ((coke.KMeans(), zeros),
                                    (coke.KMeans(metric="euclidean"), expected),
                                    (coke.KMeansConstrained(), expected)):
            if "expected_failed_checks" in inspect.signature(check_estimator).parameters:
                check_estimator(estimator, expected_failed_checks=expected)
                continue
            for one, check in check_estimator(estimator, generate_only=True):
                try:
                    check(one)
                except unittest.SkipTest:
                    pass
                except (AssertionError, ValueError):
                    if check.func.__name__ not in expected:
                        raise

    def test_pickle(self):
        m = coke.KMeans(6).fit(rows())
        n = pickle.loads(pickle.dumps(m))
        np.testing.assert_array_equal(m.predict(rows(seed=1)), n.predict(rows(seed=1)))

    def test_pipeline_search_and_output(self):
        from sklearn.model_selection import GridSearchCV
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        x = rows(300)
        p = make_pipeline(StandardScaler(), coke.KMeans(4)).fit(x)
        self.assertEqual(p.predict(x).shape, (300,))
        self.assertEqual(list(p.get_feature_names_out()), ["kmeans%d" % i for i in range(4)])
        search = GridSearchCV(coke.KMeans(4), {"ratio": [0, 1], "n_clusters": [2, 5]}, cv=2)
        self.assertEqual(search.fit(x).best_params_["n_clusters"], 5)

    @unittest.skipUnless(has("pandas"), "pandas is not installed")
    def test_set_output(self):
        import pandas as pd
        frame = pd.DataFrame(rows(100), columns=list("abcdefgh"))
        m = coke.KMeans(3).set_output(transform="pandas").fit(frame)
        self.assertEqual(list(m.transform(frame).columns), ["kmeans0", "kmeans1", "kmeans2"])
        self.assertEqual(list(m.feature_names_in_), list("abcdefgh"))

    def test_processes(self):
        from joblib import Parallel, delayed
        x = rows(300)
        got = Parallel(n_jobs=2)(delayed(coke.KMeans(4, random_state=s).fit_predict)(x)
                                 for s in range(3))
        for seed, labels in enumerate(got):
            np.testing.assert_array_equal(labels, coke.KMeans(4, random_state=seed).fit(x).labels_)


class Forks(Case):
    def test_a_child_of_fork_clusters(self):
        code, out = self.python("""
import multiprocessing, numpy as np, coke
x = np.random.RandomState(0).randn(3000, 16).astype("f4")
def work(seed):
    return coke.KMeans(20, epochs=3, random_state=seed, n_jobs=2).fit(x).labels_.tobytes()
if __name__ == "__main__":
    here = [work(s) for s in range(2)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map(work, range(2))
    print(here == there, here[0] == work(0))
""")
        self.assertEqual((code, out.split()), (0, ["True", "True"]), out)


if __name__ == "__main__":
    main()
