"""JAAS configurations: the value of `sasl.jaas.config`, and files that `java.security.auth.login.config` names."""
