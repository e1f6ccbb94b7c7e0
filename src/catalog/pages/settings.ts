import { onOff, type Setting } from '../../program/config.ts'

export const adminPage: Setting<boolean> = onOff(
  'ADMIN_PAGE',
  'on',
  'the admin page at /admin/: with --auth keys for holders of a key, otherwise for this machine alone',
)
