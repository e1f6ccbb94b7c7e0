/** Listens to the events of this object until the result is disposed of. */
export function addListeners(
  source: NodeJS.EventEmitter,
  listeners: Readonly<Record<string, (text: string) => void>>,
): Disposable {
  for (const [event, listener] of Object.entries(listeners)) source.on(event, listener)
  return {
    [Symbol.dispose]: () => {
      for (const [event, listener] of Object.entries(listeners)) source.off(event, listener)
    },
  }
}
