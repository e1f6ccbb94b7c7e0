import { join } from 'node:path'
import { runAsDatabaseUser } from './programs.ts'

/** The program that creates certificates, if it is installed. */
export const opensslPath = Bun.which('openssl')

export interface Certificate {
  /** The certificate, which is also its own authority. */
  readonly path: string
  readonly keyPath: string
}

/** Creates a self-signed certificate for a host name, owned by the database's user. */
export async function makeCertificate(openssl: string, folder: string, host: string): Promise<Certificate> {
  const path = join(folder, `${host}.crt`)
  const keyPath = join(folder, `${host}.key`)
  await runAsDatabaseUser([
    ...[openssl, 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...[
      '-days',
      '2',
      '-subj',
      `/CN=${host}`,
      '-addext',
      `subjectAltName=DNS:${host}`,
      '-out',
      path,
      '-keyout',
      keyPath,
    ],
  ])
  return { path, keyPath }
}
