/** A value or a promise of it. A promise costs half a microsecond, a large part of the time of a small request. */
export type Awaitable<Value> = Value | Promise<Value>

/** Calls `next` with the value, at once unless it is a promise. */
export function whenThere<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** Calls `next` with `one` and what `begin` returns, at once unless one of them is a promise. */
export function whenBothThere<One, Other, Result>(
  one: Awaitable<One>,
  begin: () => Awaitable<Other>,
  next: (one: One, other: Other) => Awaitable<Result>,
): Awaitable<Result> {
  // If `begin` throws at once, `one` is not left without a handler, which would be an error of the process if it rejects.
  if (one instanceof Promise) one.catch(() => {})
  const other = begin()
  if (one instanceof Promise || other instanceof Promise) {
    return Promise.all([one, other]).then(([one, other]) => next(one, other))
  }
  return next(one, other)
}
