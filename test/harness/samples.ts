/** Valid bodies that tests vary. */
export const sample = {
  category: { name: 'Garden', description: 'All for the garden' },
  product: { name: 'Spade', description: 'Steel, with an ash handle', price: 34.5 },
  user: { name: 'Ada Byron', email: 'ada@mail.example', avatar: '/ada.png', password: 'a secret of mine' },
  review: (product_id: number, user_id: number) => ({ product_id, user_id, rating: 4, comment: 'Digs well' }),
}
