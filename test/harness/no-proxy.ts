/** A proxy that the user has set would be asked even for this machine. */
for (const name of ['NO_PROXY', 'no_proxy']) process.env[name] = '*'
