"""What is wrong with the data, and how it should be validated. Never imports torch; scikit-learn and LightGBM only where rows justify them."""
