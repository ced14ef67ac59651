#!/bin/sh
# Makes the stores of this folder with the keytool of Java 17: a root, and a key for 127.0.0.1 with a chain of three.
set -eu
cd "$(dirname "$0")"
LC_ALL=C.UTF-8
export LC_ALL
rm -f ./*.jks ./*.jceks ./*.p12 ./*.pem

STORE='störe "pass\word €' # of JKS stores; Java allows only ASCII for the keys of the others
KEY='kéy pässword'
ASCII='store "pass\word'
days=36500

for name in root middle; do
    keytool -genkeypair -alias $name -keyalg EC -dname CN=$name -ext bc:c -validity $days \
        -storetype PKCS12 -keystore $name.p12 -storepass "$ASCII"
done
sign() { # the store of the issuer, its alias; a request on standard input
    keytool -gencert -alias "$2" -keystore "$1" -storepass "$ASCII" -rfc -validity $days "$3" "$4"
}
keytool -exportcert -rfc -alias root -keystore root.p12 -storepass "$ASCII" >root.pem
keytool -certreq -alias middle -keystore middle.p12 -storepass "$ASCII" | sign root.p12 root -ext bc:c >middle.pem

for type in JKS JCEKS PKCS12; do
    case $type in
    JKS) store=keys.jks password=$STORE key=$KEY algorithm=RSA ;;
    JCEKS) store=keys.jceks password=$ASCII key='key "password' algorithm=EC ;;
    PKCS12) store=keys.p12 password=$ASCII key=$ASCII algorithm=RSA ;;
    esac
    set -- -keystore $store -storetype $type -storepass "$password"
    keytool -importcert -noprompt -alias other -file root.pem "$@"
    keytool -genkeypair -alias own -keyalg $algorithm -dname CN=client -validity $days "$@" -keypass "$key"
    keytool -certreq -alias own "$@" -keypass "$key" | sign middle.p12 middle -ext SAN=ip:127.0.0.1 >own.pem
    cat own.pem middle.pem root.pem | keytool -importcert -noprompt -alias own "$@" -keypass "$key"
done
for type in JKS JCEKS PKCS12; do
    case $type in
    JKS) store=trust.jks password=$STORE ;;
    JCEKS) store=trust.jceks password=$STORE ;;
    PKCS12) store=trust.p12 password=$ASCII ;;
    esac
    for name in middle root; do
        keytool -importcert -noprompt -alias $name -file $name.pem -storetype $type -keystore $store \
            -storepass "$password"
    done
done
keytool -genseckey -alias secret -keyalg AES -keysize 128 -storetype JCEKS -keystore secret.jceks -storepass "$ASCII"
rm root.p12 middle.p12 middle.pem own.pem
