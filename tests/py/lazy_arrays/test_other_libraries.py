"""Libraries that take any arrays of the standard, such as SciPy and scikit-learn.

What each gives of lazy arrays is lazy, and is what it gives of NumPy's. SciPy reads the setting
when it is imported, so all of them run in a process of their own.
"""

import pytest

import dvm.lazy as xp

BEGIN = """
import os, warnings
os.environ["SCIPY_ARRAY_API"] = "1"
import dvm
import numpy as np

random = np.random.default_rng(0)
X = random.normal(size=(200, 6))
labels = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(np.int64)
target = X @ np.arange(6.0) + 1
# Where a result is a plain number, in either case.
NUMBERS = (float, int, np.generic)

def check(name, f):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made, wanted = f(*map(dvm.asarray, (X, labels, target))), f(X, labels, target)
    if not isinstance(made, NUMBERS):
        assert type(made) is dvm.lazy.Array, (name, type(made))
    made, wanted = np.asarray(made), np.asarray(wanted)
    np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-8, err_msg=name)
"""

SCIPY = """
import scipy.cluster.vq, scipy.differentiate, scipy.fft, scipy.integrate, scipy.ndimage
import scipy.optimize.elementwise, scipy.signal, scipy.special, scipy.stats

check("zscore", lambda x, y, t: scipy.stats.zscore(x))
check("skew", lambda x, y, t: scipy.stats.skew(x))
check("kurtosis", lambda x, y, t: scipy.stats.kurtosis(x))
check("pearsonr", lambda x, y, t: scipy.stats.pearsonr(x[:, 0], x[:, 1]).statistic)
check("ttest_1samp", lambda x, y, t: scipy.stats.ttest_1samp(x, 0.1).pvalue)
check("ttest_ind", lambda x, y, t: scipy.stats.ttest_ind(x, x * 2).statistic)
check("moment", lambda x, y, t: scipy.stats.moment(x, 3))
check("entropy", lambda x, y, t: scipy.stats.entropy(abs(x)))
check("gmean", lambda x, y, t: scipy.stats.gmean(abs(x)))
check("rankdata", lambda x, y, t: scipy.stats.rankdata(x))
check("logsumexp", lambda x, y, t: scipy.special.logsumexp(x, axis=1))
check("softmax", lambda x, y, t: scipy.special.softmax(x, axis=1))
check("erf", lambda x, y, t: scipy.special.erf(x))
check("xlogy", lambda x, y, t: scipy.special.xlogy(abs(x), abs(x)))
check("fft", lambda x, y, t: scipy.fft.fft(x))
check("detrend", lambda x, y, t: scipy.signal.detrend(x))
check("convolve", lambda x, y, t: scipy.signal.convolve(x[:, 0], x[:5, 1]))
check("gaussian_filter", lambda x, y, t: scipy.ndimage.gaussian_filter(x, 1))
check("whiten", lambda x, y, t: scipy.cluster.vq.whiten(x))
check("trapezoid", lambda x, y, t: scipy.integrate.trapezoid(x, axis=0))
check("derivative", lambda x, y, t: scipy.differentiate.derivative(
    lambda v: v * v * v, x[:4, 0]).df)
check("find_root", lambda x, y, t: scipy.optimize.elementwise.find_root(
    lambda v: v**3 - 2, (x[:3, 0] * 0, x[:3, 0] * 0 + 3)).x)
"""

SKLEARN = """
import sklearn
from sklearn import metrics, preprocessing
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

sklearn.set_config(array_api_dispatch=True)
check("PCA", lambda x, y, t: abs(PCA(3, svd_solver="full").fit_transform(x)))
check("PCA random", lambda x, y, t: abs(PCA(
    3, svd_solver="randomized", power_iteration_normalizer="QR", random_state=0
).fit(x).explained_variance_))
check("LDA", lambda x, y, t: LinearDiscriminantAnalysis().fit(x, y).predict(x))
check("LDA chances", lambda x, y, t: LinearDiscriminantAnalysis().fit(x, y).predict_proba(x))
check("Ridge", lambda x, y, t: Ridge(solver="svd").fit(x, t).predict(x))
check("accuracy", lambda x, y, t: metrics.accuracy_score(y, y[::-1]))
check("f1", lambda x, y, t: metrics.f1_score(y, y[::-1]))
check("squares", lambda x, y, t: metrics.mean_squared_error(t, t * 0.9))
check("distances", lambda x, y, t: metrics.mean_absolute_error(t, t * 0.9))
check("r2", lambda x, y, t: metrics.r2_score(t, t * 0.9))
check("confusion", lambda x, y, t: metrics.confusion_matrix(y, y[::-1]))
check("cosine", lambda x, y, t: metrics.pairwise.cosine_similarity(x, x))
check("euclid", lambda x, y, t: metrics.pairwise.euclidean_distances(x, x[:5]))
check("rbf", lambda x, y, t: metrics.pairwise.rbf_kernel(x, x[:5]))
check("scaled", lambda x, y, t: preprocessing.StandardScaler().fit_transform(x))
check("ranges", lambda x, y, t: preprocessing.MinMaxScaler().fit_transform(x))
check("largest", lambda x, y, t: preprocessing.MaxAbsScaler().fit_transform(x))
check("normal", lambda x, y, t: preprocessing.Normalizer().fit_transform(x))
"""

COMPAT = """
import array_api_compat
x = dvm.asarray(X)
assert array_api_compat.array_namespace(x) is dvm.lazy
assert array_api_compat.is_array_api_obj(x)
assert array_api_compat.device(x) == "cpu"
assert array_api_compat.size(x) == 1200
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("library", "text"),
    [("scipy", SCIPY), ("sklearn", SKLEARN), ("array_api_compat", COMPAT)],
)
def test_a_library_takes_lazy_arrays(library, text, run_python):
    pytest.importorskip(library)
    run_python(BEGIN + text)


def test_no_name_of_array_api_strict_is_missing():
    strict = pytest.importorskip("array_api_strict")
    own = {"Device", "ArrayAPIStrictFlags", "broadcast_shapes"}  # the last is of 2025.12
    names = {name for name in strict.__all__ if not name.startswith("__") and "flags" not in name}
    assert names - own - set(dir(xp)) == set()
    for part in ("linalg", "fft"):
        assert set(getattr(strict, part).__all__) <= set(dir(getattr(xp, part)))
