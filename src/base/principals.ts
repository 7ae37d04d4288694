/** A client on stdio, or with the operator's own token. */
export const LOCAL_PRINCIPAL = 'local';
