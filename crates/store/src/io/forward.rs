//! Forwards methods of an object store to the store that it wraps.

/// Implements these methods of `ObjectStore` by the store in a field, for an `impl` block with `async_trait`. Methods
/// that are not listed keep their default, which calls the wrapper's own methods.
macro_rules! forward_to {
    ($inner:ident: $($method:ident),+ $(,)?) => {
        $($crate::io::forward::forward_to!(@method $inner $method);)+
    };
    (@method $inner:ident put_opts) => {
        $crate::io::forward::forward_to!(@future $inner put_opts<'l>(
            location: &'l ::object_store::path::Path,
            payload: ::object_store::PutPayload,
            options: ::object_store::PutOptions
        ) -> ::object_store::PutResult);
    };
    (@method $inner:ident put_multipart_opts) => {
        $crate::io::forward::forward_to!(@future $inner put_multipart_opts<'l>(
            location: &'l ::object_store::path::Path,
            options: ::object_store::PutMultipartOptions
        ) -> Box<dyn ::object_store::MultipartUpload>);
    };
    (@method $inner:ident get_opts) => {
        $crate::io::forward::forward_to!(@future $inner get_opts<'l>(
            location: &'l ::object_store::path::Path,
            options: ::object_store::GetOptions
        ) -> ::object_store::GetResult);
    };
    (@method $inner:ident list_with_delimiter) => {
        $crate::io::forward::forward_to!(@future $inner list_with_delimiter<'p>(
            prefix: Option<&'p ::object_store::path::Path>
        ) -> ::object_store::ListResult);
    };
    (@method $inner:ident copy_opts) => {
        $crate::io::forward::forward_to!(@future $inner copy_opts<'a, 'b>(
            from: &'a ::object_store::path::Path,
            to: &'b ::object_store::path::Path,
            options: ::object_store::CopyOptions
        ) -> ());
    };
    (@method $inner:ident list) => {
        fn list(
            &self,
            prefix: Option<&::object_store::path::Path>,
        ) -> ::futures::stream::BoxStream<'static, ::object_store::Result<::object_store::ObjectMeta>> {
            ::object_store::ObjectStore::list(&*self.$inner, prefix)
        }
    };
    (@method $inner:ident list_with_offset) => {
        fn list_with_offset(
            &self,
            prefix: Option<&::object_store::path::Path>,
            offset: &::object_store::path::Path,
        ) -> ::futures::stream::BoxStream<'static, ::object_store::Result<::object_store::ObjectMeta>> {
            ::object_store::ObjectStore::list_with_offset(&*self.$inner, prefix, offset)
        }
    };
    (@method $inner:ident get_ranges) => {
        $crate::io::forward::forward_to!(@future $inner get_ranges<'l, 'r>(
            location: &'l ::object_store::path::Path,
            ranges: &'r [::std::ops::Range<u64>]
        ) -> ::std::vec::Vec<::bytes::Bytes>);
    };
    (@method $inner:ident delete_stream) => {
        fn delete_stream(
            &self,
            locations: ::futures::stream::BoxStream<'static, ::object_store::Result<::object_store::path::Path>>,
        ) -> ::futures::stream::BoxStream<'static, ::object_store::Result<::object_store::path::Path>> {
            ::object_store::ObjectStore::delete_stream(&*self.$inner, locations)
        }
    };
    // The form that `async_trait` gives to an asynchronous method.
    (@future $inner:ident $method:ident<$($life:lifetime),+>($($name:ident: $of:ty),+) -> $out:ty) => {
        fn $method<'s, $($life,)+ 'f>(
            &'s self,
            $($name: $of),+
        ) -> ::futures::future::BoxFuture<'f, ::object_store::Result<$out>>
        where
            's: 'f,
            $($life: 'f,)+
            Self: 'f,
        {
            ::object_store::ObjectStore::$method(&*self.$inner, $($name),+)
        }
    };
}

pub(crate) use forward_to;
