"""What results rest on, as BibTeX: the papers behind theorems, the sources of real data, and this package."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version

SOFTWARE = """@software{{rectilinear,
  author = {{{{The Rectilinear authors}}}},
  title = {{Rectilinear}},
  version = {{{version}}}
}}"""

# by a mark that the sources of theorems, or the names of data sets, carry
PAPERS = {
    "2406.12615": """@article{zhang2024bias,
  author = {Zhang, Yedi and Saxe, Andrew and Latham, Peter E.},
  title = {When Are Bias-Free {ReLU} Networks Effectively Linear Networks?},
  year = {2024},
  journal = {arXiv:2406.12615}
}""",
    "2310.18935": """@inproceedings{kou2023implicit,
  author = {Kou, Yiwen and Chen, Zixiang and Gu, Quanquan},
  title = {Implicit Bias of Gradient Descent for Two-layer {ReLU} and Leaky {ReLU} Networks on Nearly-orthogonal Data},
  booktitle = {Advances in Neural Information Processing Systems},
  year = {2023},
  note = {arXiv:2310.18935}
}""",
    "Phuong & Lampert": """@inproceedings{phuong2021inductive,
  author = {Phuong, Mary and Lampert, Christoph H.},
  title = {The Inductive Bias of {ReLU} Networks on Orthogonally Separable Data},
  booktitle = {International Conference on Learning Representations},
  year = {2021}
}""",
}
DATA = {
    "digits": """@misc{alpaydin1998digits,
  author = {Alpaydin, E. and Kaynak, C.},
  title = {Optical Recognition of Handwritten Digits},
  howpublished = {UCI Machine Learning Repository},
  year = {1998}
}""",
    "breast_cancer": """@misc{wolberg1993breast,
  author = {Wolberg, William and Mangasarian, Olvi and Street, Nick and Street, W.},
  title = {Breast Cancer Wisconsin (Diagnostic)},
  howpublished = {UCI Machine Learning Repository},
  year = {1993}
}""",
    "diabetes": """@article{efron2004least,
  author = {Efron, Bradley and Hastie, Trevor and Johnstone, Iain and Tibshirani, Robert},
  title = {Least Angle Regression},
  journal = {The Annals of Statistics},
  volume = {32},
  pages = {407--499},
  year = {2004}
}""",
}


def bibtex(sources: Iterable[str], data: str = "") -> str:
    """BibTeX entries of this package, of the papers that `sources` name, and of the data set of that name, each once.

    >>> print(bibtex(["Phuong & Lampert, ICLR 2021, Theorem 1"]).split("{")[0])
    @software
    >>> bibtex(["Phuong & Lampert, ICLR 2021"], "digits_3_8").count("@")
    3
    """
    named = " ".join(sources)
    papers = [entry for mark, entry in PAPERS.items() if mark in named]
    real = [entry for mark, entry in DATA.items() if data.startswith(mark)]
    return "\n\n".join([SOFTWARE.format(version=version("rectilinear")), *papers, *real]) + "\n"
