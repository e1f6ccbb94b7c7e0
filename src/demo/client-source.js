// The source of `stockroom/client`, which browsers load as it is. In JavaScript, because TypeScript knows these files only as
// modules, and here they are texts.

import errors from '../../client/errors.js' with { type: 'text' }
import events from '../../client/events.js' with { type: 'text' }
import index from '../../client/index.js' with { type: 'text' }
import pages from '../../client/pages.js' with { type: 'text' }
import requests from '../../client/requests.js' with { type: 'text' }
import resources from '../../client/resources.js' with { type: 'text' }

export const CLIENT_SOURCE = {
  'errors.js': errors,
  'events.js': events,
  'index.js': index,
  'pages.js': pages,
  'requests.js': requests,
  'resources.js': resources,
}
