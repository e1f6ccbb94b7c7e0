/**
 * Limit on the text held in memory for one chunk of a list, about as much as one request may send. A chunk of heavy items has
 * fewer of them, and at least one. The weight of a text is its length as the engine counts it: in UTF-16 code units on SQLite,
 * in bytes on PostgreSQL.
 */
export const CHUNK_WEIGHT_MAX = 1_048_576
