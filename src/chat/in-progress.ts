/** SQL for both engines: whether an answer has not ended. */
export const IN_PROGRESS = "state IN ('waiting', 'running')"
