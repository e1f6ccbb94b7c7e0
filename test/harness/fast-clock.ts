/** Preloaded into a service, this makes its time limits end sooner: those that it measures, but not its timers. */
const FACTOR = 15

const now = performance.now.bind(performance)
performance.now = () => FACTOR * now()
