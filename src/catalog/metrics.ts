import { counter, type Family, gauge, histogram } from '../metrics/family.ts'
import type { Streaming } from '../server/streaming.ts'
import type { Budgets } from './http/budgets.ts'
import type { Repositories } from './repositories.ts'
import type { CacheFigures } from './storage/cache/cached.ts'
import type { IndexFigures } from './storage/index/catching-up.ts'
import type { HashingFigures, PasswordHashing } from './users/password.ts'

interface Measured {
  readonly repositories: Repositories
  readonly hashing: PasswordHashing
  readonly budgets: Budgets
  readonly streaming: Streaming
}

/** Metrics that only the catalog has. */
export function catalogFamilies({ repositories, hashing, budgets, streaming }: Measured): Family[] {
  const cache = repositories.cacheFigures()
  return [
    ...(cache ? cacheFamilies(cache) : []),
    ...hashingFamilies(hashing.figures),
    ...budgetFamilies(budgets, streaming),
    ...indexFamilies(repositories.searchIndex.figures),
  ]
}

function cacheFamilies({ hits, misses, clears, bytes, maxBytes, entries }: CacheFigures): Family[] {
  return [
    counter('stockroom_cache_hits_total', 'Resources that were served from the cache, alone or in lists.', hits),
    counter('stockroom_cache_misses_total', 'Resources that were looked for in the database.', misses),
    counter(
      'stockroom_cache_clears_total',
      'How often the whole cache was cleared, because a commit did not say what it had changed.',
      clears,
    ),
    gauge('stockroom_cache_bytes', 'Approximate size of the cached resources and pages.', bytes),
    gauge('stockroom_cache_max_bytes', 'The limit on that size (CACHE_BYTES).', maxBytes),
    gauge('stockroom_cache_entries', 'Approximate number of cached resources and pages.', entries),
  ]
}

/** Each process of several sees the same index, and looks at it at other times. */
function indexFamilies({ isBuilt, rowsLeft }: IndexFigures): Family[] {
  return [
    gauge(
      'stockroom_search_index_built',
      'Whether the search index is complete, but for the rows left: 1 or 0. Until then, searches may get 503.',
      isBuilt ? 1 : 0,
      'least',
    ),
    gauge(
      'stockroom_search_index_rows_left',
      'Changed rows that the search index does not have yet, about. The next search takes them.',
      rowsLeft,
      'greatest',
    ),
  ]
}

function hashingFamilies({ inProgress, waiting, refused, seconds }: HashingFigures): Family[] {
  return [
    gauge('stockroom_password_hashes_in_progress', 'Passwords that are being hashed.', inProgress),
    gauge('stockroom_password_hashes_waiting', 'Passwords that wait to be hashed.', waiting),
    counter('stockroom_password_hashes_refused_total', 'Passwords that would have waited too long.', refused),
    histogram('stockroom_password_hash_duration_seconds', 'Time to hash a password, without the wait.', seconds),
  ]
}

/** Memory that several requests share. */
function budgetFamilies({ bodies, bulkBodies }: Budgets, { pieces, textCompressors }: Streaming): Family[] {
  const budgets = {
    large_bodies: bodies,
    bulk_bodies: bulkBodies,
    streamed_responses: pieces,
    stream_compressors: textCompressors,
  }
  const samples = Object.entries(budgets).map(([budget, { figures }]) => ({ labels: { budget }, figures }))
  return [
    gauge(
      'stockroom_memory_budget_used_bytes',
      'Memory for requests that share a budget, by budget.',
      samples.map(({ labels, figures }) => ({ labels, value: figures.heldBytes })),
    ),
    gauge(
      'stockroom_memory_budget_max_bytes',
      'The size of each budget. Beyond it, large requests get 503, or uncompressed answers (stream_compressors).',
      samples.map(({ labels, figures }) => ({ labels, value: figures.maxBytes })),
    ),
    gauge(
      'stockroom_memory_budget_waiting',
      'Pieces of responses that wait for memory of their budget.',
      samples.map(({ labels, figures }) => ({ labels, value: figures.waiting })),
    ),
  ]
}
