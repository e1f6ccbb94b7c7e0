/** All methods of each path of the specification. */
export const METHODS: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/categories/', ['GET', 'HEAD', 'POST']],
  ['/categories/1', ['DELETE', 'GET', 'HEAD', 'PUT']],
  ['/products/', ['GET', 'HEAD', 'POST']],
  ['/products/1', ['DELETE', 'GET', 'HEAD', 'PUT']],
  ['/products/1/products', ['GET', 'HEAD', 'POST']],
  ['/reviews/', ['GET', 'HEAD', 'POST']],
  ['/reviews/1', ['DELETE', 'GET', 'HEAD', 'PATCH']],
  ['/reviews/products/1', ['GET', 'HEAD']],
  ['/reviews/users/1', ['GET', 'HEAD']],
  ['/reviews/products/1/users/1', ['GET', 'HEAD']],
  ['/users/', ['GET', 'HEAD', 'POST']],
  ['/users/1', ['DELETE', 'GET', 'HEAD', 'PATCH']],
]
