import { amount } from '../../../program/config.ts'

const ROWS_MAX = 100_000_000

export const categories = amount('categories', 20, 10_000, 'how many categories')
export const products = amount('products', 500, ROWS_MAX, 'how many products')
export const users = amount('users', 100, ROWS_MAX, 'how many users')
export const reviews = amount('reviews', 1_500, ROWS_MAX, 'how many reviews')
