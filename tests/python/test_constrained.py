"""test_constrained.py - coke.KMeansConstrained: the interface and the examples of the package
k-means-constrained, and its results where it is installed."""
import pickle
import unittest

from python_case import Case, has, main, np, rows

import coke

# The example of its documentation, whose clusters have an inertia of 16.
X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [4, 4], [4, 0]])


class Interface(Case):
    def test_the_documented_example(self):
        m = coke.KMeansConstrained(n_clusters=2, size_min=2, size_max=5, random_state=0)
        labels = m.fit_predict(X)
        np.testing.assert_array_equal(labels, m.labels_)
        np.testing.assert_array_equal(np.bincount(labels), [3, 3])
        self.assertLessEqual(m.inertia_, 16 * 1.001)
        self.assertEqual(m.cluster_centers_.shape, (2, 2))
        new = m.predict([[0, 0], [4, 4]], size_min=None, size_max=None)
        np.testing.assert_array_equal(new, m.transform([[0, 0], [4, 4]]).argmin(axis=1))

    def test_predict_keeps_the_bounds(self):
        x = rows(500) + 2
        m = coke.KMeansConstrained(5, size_min=60, size_max=150, random_state=1).fit(x)
        self.assertTrue(m.sizes_.min() >= 60 and m.sizes_.max() <= 150)
        np.testing.assert_array_equal(m.predict(x), m.labels_)
        sizes = np.bincount(m.predict(x, size_min=90, size_max=110), minlength=5)
        self.assertTrue(sizes.min() >= 90 and sizes.max() <= 110)
        sizes = np.bincount(m.predict(x[:50], size_min=10, size_max=None), minlength=5)
        np.testing.assert_array_equal(sizes, 10)

    def test_one_bound_and_none(self):
        x = rows(300)
        self.assertGreaterEqual(coke.KMeansConstrained(4, size_min=40).fit(x).sizes_.min(), 40)
        self.assertLessEqual(coke.KMeansConstrained(4, size_max=80).fit(x).sizes_.max(), 80)
        free = coke.KMeansConstrained(4, random_state=0).fit(x)
        np.testing.assert_array_equal(free.predict(x), free.transform(x).argmin(axis=1))

    def test_inertia_is_the_sum_of_squared_distances(self):
        x = rows(300) * 7 + 100
        m = coke.KMeansConstrained(4, size_min=40).fit(x)
        expected = ((x - m.cluster_centers_[m.labels_]) ** 2).sum()
        self.assertAlmostEqual(m.inertia_ / expected, 1, delta=1e-3)

    def test_starts_and_pickles(self):
        x = rows(300)
        for init in ("k-means++", "random", x[:4].copy()):
            m = coke.KMeansConstrained(4, size_min=40, init=init, n_init=2).fit(x)
            n = pickle.loads(pickle.dumps(m))
            np.testing.assert_array_equal(n.predict(x), m.labels_)

    def test_misuse(self):
        cases = [(dict(init="best"), "init should be"), (dict(size_min=200), "sum to 800"),
                 (dict(size_min=-1), "size_min=-1"), (dict(size_max=20), "20|80"),
                 (dict(size_min=60, size_max=40), "below its minimum")]
        for parameters, words in cases:
            with self.assertRaisesRegex(ValueError, words):
                coke.KMeansConstrained(4, **parameters).fit(rows(300))
        m = coke.KMeansConstrained(4, size_min=40).fit(rows(300))
        with self.assertRaisesRegex(ValueError, "cannot hold for 100 rows"):
            m.predict(rows(100))


@unittest.skipUnless(has("k_means_constrained"), "k-means-constrained is not installed")
class Peer(Case):
    def test_inertia_and_sizes_are_as_good(self):
        from k_means_constrained import KMeansConstrained
        x = np.random.RandomState(0).randn(1000, 5)
        bounds = dict(n_clusters=10, size_min=80, size_max=120, random_state=0)
        ours, theirs = coke.KMeansConstrained(**bounds).fit(x), KMeansConstrained(**bounds).fit(x)
        self.assertLess(ours.inertia_ / theirs.inertia_, 1.001)
        np.testing.assert_array_equal(
            np.bincount(ours.predict(x)) >= 80, np.bincount(theirs.predict(x)) >= 80)


if __name__ == "__main__":
    main()
