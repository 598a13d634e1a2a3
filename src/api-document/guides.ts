// The guides for callers, which are pages of docs/guides and chapters of the API documentation. It must contain no text of its own
// except their order.

import authentication from '../../docs/guides/authentication.md' with { type: 'text' }
import errors from '../../docs/guides/errors.md' with { type: 'text' }
import limits from '../../docs/guides/limits.md' with { type: 'text' }
import prices from '../../docs/guides/prices.md' with { type: 'text' }
import responses from '../../docs/guides/responses.md' with { type: 'text' }
import webhooks from '../../docs/guides/webhooks.md' with { type: 'text' }

export const guides: readonly string[] = [authentication, errors, limits, prices, responses, webhooks]
