import html from './browser/html.client.js' with { type: 'text' }
import live from './browser/live.client.js' with { type: 'text' }
import more from './browser/more.client.js' with { type: 'text' }
import product from './browser/product.client.js' with { type: 'text' }
import requests from './browser/requests.client.js' with { type: 'text' }
import shop from './browser/shop.client.js' with { type: 'text' }
import styles from './browser/shop.css' with { type: 'text' }
import tiles from './browser/tiles.client.js' with { type: 'text' }
import { CLIENT_SOURCE } from './client-source.js'

/** The files that browsers load: the pages' modules, and the client that they import. */
export const FILES = {
  'shop.css': styles,
  'shop/html.js': html,
  'shop/live.js': live,
  'shop/more.js': more,
  'shop/product.js': product,
  'shop/requests.js': requests,
  'shop/shop.js': shop,
  'shop/tiles.js': tiles,
  ...Object.fromEntries(Object.entries(CLIENT_SOURCE).map(([name, text]) => [`client/${name}` as const, text])),
} as const
