/** What is there at once, or comes later. A promise costs half a microsecond, which is much of the time of a small request. */
export type Awaitable<Value> = Value | Promise<Value>

/** Calls `next` with the value: now if it is there, else later. */
export function whenThere<Value, Result>(
  value: Awaitable<Value>,
  next: (value: Value) => Awaitable<Result>,
): Awaitable<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
