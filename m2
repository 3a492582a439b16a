numerical_sparse_vector_numbers_free 0.7 30: 
