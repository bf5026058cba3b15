"""test_kmeans_claims.py - what scikit-learn's tests claim of its k-means, of coke.KMeans: labels,
inertia, score, transform, weights, types and seeds agree with each other and with numpy."""
import unittest

from python_case import Case, has, main, np, rows

import coke


def free(k, **params):
    """Without bounds, in Euclidean distance: the k-means of scikit-learn."""
    return coke.KMeans(k, metric="euclidean", ratio=0, **params)


def squares(x, centers):
    return ((x[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)


class Claims(Case):
    def test_labels_are_those_of_predict_where_no_bound_binds(self):
        for metric in ("cosine", "euclidean"):
            m = coke.KMeans(6, metric=metric, ratio=0, random_state=0).fit(rows())
            np.testing.assert_array_equal(m.predict(rows()), m.labels_)
            np.testing.assert_array_equal(m.fit_predict(rows()), m.labels_)

    def test_inertia_and_score_are_sums_of_squared_distances(self):
        x, other = rows(), rows(seed=1)
        m = free(6).fit(x)
        np.testing.assert_allclose(m.inertia_, squares(x, m.cluster_centers_).min(axis=1).sum(),
                                   rtol=1e-4)
        np.testing.assert_allclose(m.score(x), -m.inertia_, rtol=1e-4)
        np.testing.assert_allclose(
            m.score(other), -squares(other, m.cluster_centers_).min(axis=1).sum(), rtol=1e-4)

    def test_transform_is_the_distance_to_each_center(self):
        x = rows()
        m = free(6).fit(x)
        got = m.transform(x[:100])
        self.assertEqual(got.shape, (100, 6))
        np.testing.assert_allclose(got, np.sqrt(squares(x[:100], m.cluster_centers_)), rtol=1e-3)
        np.testing.assert_array_equal(m.fit_transform(x), m.transform(x))

    def test_a_center_is_the_mean_of_its_rows(self):
        x = rows()
        m = free(4, epochs=60).fit(x)
        for i, center in enumerate(m.cluster_centers_):
            np.testing.assert_allclose(center, x[m.labels_ == i].mean(axis=0), atol=.15)

    def test_equal_weights_are_no_weights(self):
        x = rows()
        plain = free(6).fit(x)
        same = free(6).fit(x, sample_weight=np.ones(len(x)))
        np.testing.assert_array_equal(same.labels_, plain.labels_)
        double = free(6).fit(x, sample_weight=np.full(len(x), 2.))
        np.testing.assert_allclose(double.inertia_, 2 * plain.inertia_, rtol=1e-3)

    def test_weights_are_repetitions_in_inertia_and_score(self):
        """Of given centers: the order of the rows, and with it a fit, is another one."""
        x = rows()
        weight = np.random.RandomState(0).randint(1, 4, len(x))
        m = free(6).fit(x, sample_weight=weight)
        repeated = np.repeat(x, weight, axis=0)
        np.testing.assert_allclose(m.score(x, sample_weight=weight), m.score(repeated), rtol=1e-5)
        again = free(6).fit(repeated)
        np.testing.assert_allclose(m.inertia_, again.inertia_, rtol=.1)

    def test_as_many_clusters_as_rows_have_no_inertia(self):
        x = rows(40)
        m = free(40).fit(x)
        self.assertEqual(sorted(m.labels_), list(range(40)))
        self.assertAlmostEqual(m.inertia_, 0, delta=1e-6 * (x ** 2).sum())

    def test_one_cluster_is_the_mean(self):
        x = rows()
        m = free(1).fit(x)
        np.testing.assert_allclose(m.cluster_centers_[0], x.mean(axis=0), atol=.05)
        self.assertFalse(m.labels_.any())

    def test_types_and_layouts_agree(self):
        x = rows().astype(np.float32)
        m = free(6).fit(x)
        for other in (x.astype(np.float64), np.asfortranarray(x), x.tolist(), np.repeat(x, 2, 0)[::2]):
            n = free(6).fit(other)
            np.testing.assert_array_equal(n.labels_, m.labels_)
            np.testing.assert_array_equal(n.cluster_centers_, m.cluster_centers_)

    def test_a_seed_repeats_a_fit(self):
        x = rows()
        one, two, other = (free(6, random_state=s).fit(x) for s in (7, 7, 8))
        np.testing.assert_array_equal(one.cluster_centers_, two.cluster_centers_)
        self.assertFalse(np.array_equal(one.cluster_centers_, other.cluster_centers_))

    def test_the_input_stays_as_it_was(self):
        x = rows()
        before = x.copy()
        free(6).fit(x).predict(x)
        np.testing.assert_array_equal(x, before)

    def test_other_numbers_of_features_are_errors(self):
        m = free(6).fit(rows())
        self.assertEqual(m.n_features_in_, 8)
        for method in (m.predict, m.transform, m.score):
            with self.assertRaisesRegex(ValueError, "7 features, but KMeans is expecting 8"):
                method(rows()[:, :7])

    @unittest.skipUnless(has("sklearn"), "scikit-learn is not installed")
    def test_the_inertia_is_about_that_of_scikit_learn(self):
        from sklearn.cluster import KMeans
        x = rows(2000)
        theirs = KMeans(6, n_init=10, random_state=0).fit(x).inertia_
        ours = min(free(6, random_state=s).fit(x).inertia_ for s in range(10))
        self.assertLess(ours, 1.02 * theirs)


if __name__ == "__main__":
    main()
