"""Key and trust stores for TLS, of listeners and Kafka clients: PEM, PKCS12, JKS and JCEKS."""
