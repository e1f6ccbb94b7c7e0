/** The files of the client, by name. */
export const CLIENT_SOURCE: Readonly<Record<`${string}.js`, string>>
