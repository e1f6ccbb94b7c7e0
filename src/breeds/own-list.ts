/** Path of the app's own list. */
export const OWN_LIST_PATH = '/breeds/list'

const NAMES = [
  'affenpinscher',
  'akita',
  'barbet',
  'basenji',
  'beagle',
  'borzoi',
  'boxer',
  'briard',
  'chihuahua',
  'chow',
  'collie',
  'corgi',
  'dachshund',
  'dalmatian',
  'eurasier',
  'greyhound',
  'hovawart',
  'husky',
  'keeshond',
  'komondor',
  'kuvasz',
  'leonberger',
  'malamute',
  'newfoundland',
  'otterhound',
  'papillon',
  'pointer',
  'poodle',
  'pug',
  'puli',
  'rottweiler',
  'saluki',
  'samoyed',
  'schipperke',
  'spitz',
  'vizsla',
  'weimaraner',
  'whippet',
]

/** The list that ships with the app, in the list service's format. */
export const OWN_LIST = JSON.stringify({
  message: Object.fromEntries(NAMES.map(name => [name, []])),
  status: 'success',
})
