// Azure OpenAI and the models of Microsoft Foundry: OpenAI's API on a resource of one's own. A model here is a
// deployment. Without `apiVersion` calls go to the API v1, with it to the older paths of each deployment:
// https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle.

import type { UpstreamKind } from '../../contract/upstream'
import { readErrorShape } from '../../lib/error-shapes'

/** Codes about the resource, its deployments and its quota, whatever the status. */
const OPERATOR_CODES = new Set([
  'DeploymentNotFound',
  'OperationNotSupported',
  'ResourceNotFound',
  'PermissionDenied',
  'insufficient_quota',
  'unsupported_api_version',
])
/** The version of the API without one in the configuration. */
const LATEST = 'v1'
/** The first version with responses, as older ones say in their refusal: Aider-AI/aider#4029. */
const FIRST_WITH_RESPONSES = '2025-03-01-preview'
/** Paths that belong to no deployment, even in the older API. */
const OF_RESOURCE = /^\/(responses|files|batches|models)\b/

export const azure: UpstreamKind = {
  kind: 'azure',
  baseUrl: 'https://RESOURCE.openai.azure.com',
  secretVariable: 'AZURE_OPENAI_API_KEY',
  needs: ['baseUrl'],
  prefix: { openai: '/openai/v1', native: '' },
  // A name such as `preview` is that of a later version.
  servesResponses: ({ apiVersion = LATEST }) => apiVersion >= FIRST_WITH_RESPONSES,
  fileHosts: ['.blob.core.windows.net'],
  headers: (secret) => ({ 'api-key': secret }),

  adapt(call, model, { apiVersion }) {
    if (call.protocol !== 'openai') return undefined
    if (apiVersion === undefined) return call
    const place = OF_RESOURCE.test(call.path) ? '' : `/deployments/${encodeURIComponent(model)}`
    return {
      ...call,
      protocol: 'native',
      path: `/openai${place}${call.path}?api-version=${encodeURIComponent(apiVersion)}`,
    }
  },

  error(status, body) {
    const shape = readErrorShape(body)
    const operator = [401, 403, 404].includes(status) || OPERATOR_CODES.has(shape.code ?? '')
    return { ...shape, whose: operator ? 'operator' : 'caller' }
  },
}
