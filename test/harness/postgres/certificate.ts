import { join } from 'node:path'
import { runAsDatabaseUser } from './programs.ts'

/** What makes certificates, where the machine has it. */
export const opensslPath = Bun.which('openssl')

export interface Certificate {
  /** The certificate, which is its own authority. */
  readonly path: string
  readonly keyPath: string
}

/** Makes a certificate for a host's name, signed by itself, as the database's user. */
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
