const { hash } = Bun.password

/** Preloaded into a service, this hashes passwords with the least work that argon2id allows, for tests that look at no hash. */
Bun.password.hash = password => hash(password, { algorithm: 'argon2id', memoryCost: 8, timeCost: 1 })
