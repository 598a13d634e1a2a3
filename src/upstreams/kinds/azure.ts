// Azure OpenAI and the models of Microsoft Foundry: OpenAI's API on the operator's own resource. A model here is a deployment.
// Without `apiVersion` calls use the v1 API, with it the older paths of each deployment:
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
/** The API version if the configuration names none. */
const LATEST = 'v1'
/** The first version with responses, according to the refusals of older ones: Aider-AI/aider#4029. */
const FIRST_WITH_RESPONSES = '2025-03-01-preview'
/** Paths that belong to no deployment, even in the older API. */
const OF_RESOURCE = /^\/(responses|files|batches|models)\b/

export const azure: UpstreamKind = {
  kind: 'azure',
  baseUrl: 'https://RESOURCE.openai.azure.com',
  secretVariable: 'AZURE_OPENAI_API_KEY',
  needs: ['baseUrl'],
  prefix: { openai: '/openai/v1', native: '' },
  // A name such as `preview` means a later version.
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
