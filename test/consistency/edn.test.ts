import { expect, test } from 'bun:test'
import { ednHistory } from './edn.ts'

test('a history of appends and reads is written as the operations that Elle reads, in order of time', () => {
  const append = { client: 1, key: 'reviews of product 7', source: 'there' }
  const text = ednHistory({
    appends: [
      { ...append, value: '1-10', invokedAt: 1, acknowledgedAt: 3 },
      { ...append, value: '1-11', invokedAt: 4, acknowledgedAt: null },
      { ...append, value: '1-12', invokedAt: 6, acknowledgedAt: 7 },
      { ...append, key: 'all reviews', value: '1-10', invokedAt: 1, acknowledgedAt: 3 },
    ],
    reads: [{ client: 2, key: 'reviews of product 7', value: ['1-10'], invokedAt: 2, completedAt: 5, source: 'here' }],
  })
  expect(text.split('\n')).toEqual([
    '{:index 0, :time 1000000, :type :invoke, :process 100000, :f :txn, :value [[:append 7 10]]}',
    '{:index 1, :time 2000000, :type :invoke, :process 200000, :f :txn, :value [[:r 7 nil]]}',
    '{:index 2, :time 3000000, :type :ok, :process 100000, :f :txn, :value [[:append 7 10]]}',
    '{:index 3, :time 4000000, :type :invoke, :process 100000, :f :txn, :value [[:append 7 11]]}',
    '{:index 4, :time 4000000, :type :info, :process 100000, :f :txn, :value [[:append 7 11]]}',
    '{:index 5, :time 5000000, :type :ok, :process 200000, :f :txn, :value [[:r 7 [10]]]}',
    '{:index 6, :time 6000000, :type :invoke, :process 100001, :f :txn, :value [[:append 7 12]]}',
    '{:index 7, :time 7000000, :type :ok, :process 100001, :f :txn, :value [[:append 7 12]]}',
    '',
  ])
})
