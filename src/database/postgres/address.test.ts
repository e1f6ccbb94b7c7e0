import { expect, test } from 'bun:test'
import { type PostgresAddress, postgresAddress } from './address.ts'

test('an address is read as libpq reads it, with its defaults', () => {
  expect(read('postgres://al%40ice:p%40ss%2Fw%25@[::1]:6543/sh%20op?sslmode=require')).toMatchObject({
    ...{ username: 'al@ice', password: 'p@ss/w%', hostname: '::1', port: 6543, database: 'sh op', tls: 'require' },
    place: '[::1]:6543/sh op',
  })
  expect(read('postgres://ada@db.example')).toMatchObject({
    ...{ username: 'ada', password: 'of the environment', hostname: 'db.example', port: 5432, database: 'ada' },
    ...{ tls: 'prefer', certificateAuthority: null, applicationName: null, place: 'db.example:5432/ada' },
  })
  expect(read('postgres://db.example')).toMatchObject({ username: 'postgres', database: 'postgres' })
})

test('an address with a password that is not encoded is refused without showing any of it', () => {
  for (const address of ['postgres://ada:123#ame@db.example/shop', 'postgres://ada:ses%ame@db.example/shop']) {
    expect(() => read(address)).toThrow(/^the address (must look like|has a %)(?!.*(123|ses|ame@))/)
  }
})

function read(text: string): PostgresAddress {
  return postgresAddress(text, { password: 'of the environment', isPooled: false, shallDistribute: false })
}
